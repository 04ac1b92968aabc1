/**
 * Options that an environment variable may set: LEASEHOLD_TLS_CERT for --tls-cert. A flag wins, an empty variable counts as
 * not set, and a malformed value is a usage error that names the variable. Items of a list are separated by commas or spaces.
 */
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { wrongUsage } from './failure.ts';
import { switchOf } from './intent-variables.ts';
import type { Shell } from './shell.ts';

/** Gives each of these options its variable, and names it in the help. */
export function withVariables(command: Command, shell: Shell, longs: readonly string[]): Command {
  const options = command.options.filter(({ long }) => longs.includes(long!));
  for (const option of options) option.description = naming(option);
  return command.hook('preAction', (_command, action) => {
    for (const option of options) takeVariable(action, option, shell.env[variableOf(option)]);
  });
}

const variableOf = ({ long }: Option): string =>
  `LEASEHOLD_${long!.slice(2).replaceAll('-', '_').toUpperCase()}`;

function naming(option: Option): string {
  const name = variableOf(option);
  const says = option.description.replace(/\(default(:?) /, `(${name}; default$1 `);
  return says === option.description ? `${says} (${name})` : says;
}

function takeVariable(command: Command, option: Option, text: string | undefined): void {
  const key = option.attributeName();
  const source = command.getOptionValueSource(key);
  if (!text || (source !== undefined && source !== 'default')) return;
  command.setOptionValueWithSource(key, parsed(option, text), 'env');
}

function parsed(option: Option, text: string): unknown {
  if (option.isBoolean()) return switchOf(variableOf(option), text);
  if (option.variadic) return text.split(/[\s,]+/).filter(Boolean);
  try {
    return option.parseArg?.<unknown>(text, undefined) ?? text;
  } catch (fault) {
    if (!(fault instanceof InvalidArgumentError)) throw fault;
    throw wrongUsage(`${variableOf(option)} is ${JSON.stringify(text)}. ${fault.message}`);
  }
}
