/**
 * The orchestrator's configuration: its slots, and the pipeline program of every profile. All errors are reported
 * when it is read, each with a message, and not when a session starts.
 *
 * Placeholders are parts of arguments, as in `-i {serviceRef}`. Their values never pass through a shell, so each
 * stays one argument or part of one, whatever it contains. `{{word}}` is a literal `{word}`.
 */
import { type ConfigFile, ORCHESTRATOR_CONFIG, type OrchestratorConfig } from './config-schema.ts';

export type { ConfigFile, OrchestratorConfig, PipelineProfile } from './config-schema.ts';

const PLACEHOLDERS = ['serviceRef', 'recordingID', 'start_ms', 'slot', 'session_id'] as const;
type Placeholder = (typeof PLACEHOLDERS)[number];
export type Filling = Readonly<Record<Placeholder, string>>;

const BRACES = /\{\{(\w+)\}\}|\{(\w+)\}/g;

/** The message is for the author of the file. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export function readConfig(text: string): OrchestratorConfig {
  const config = parse(text);
  if (!ORCHESTRATOR_CONFIG.accepts(config)) {
    throw new ConfigError(ORCHESTRATOR_CONFIG.explain(config).replace(/^The request/, 'The configuration'));
  }
  const { slots, tuners, ...known } = config as ConfigFile;
  for (const [name, { command, ready }] of Object.entries(known.profiles)) {
    checkName(name);
    checkCommand(name, command);
    if (ready !== undefined) checkPattern(name, ready.stdout);
  }
  return { ...known, slots: onlyOne(slots, tuners) };
}

function onlyOne(slots: string[] | undefined, tuners: string[] | undefined): string[] {
  if (slots !== undefined && tuners !== undefined) {
    throw new ConfigError('The configuration has slots and tuners, which mean the same. Keep slots.');
  }
  const given = slots ?? tuners;
  if (given === undefined) throw new ConfigError('The field slots is missing: a list of names.');
  return given;
}

/** The command of a session, with every placeholder filled. */
export function filled(command: readonly string[], filling: Filling): string[] {
  return command.map((word) =>
    word.replace(BRACES, (_, literal: string | undefined, name: string) =>
      literal === undefined ? filling[name as Placeholder] : `{${literal}}`,
    ),
  );
}

/** Escapes the text so that it contains no placeholder. */
export function literal(text: string): string {
  return text.replace(BRACES, '{$&}');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
    throw new ConfigError(`The configuration is not JSON (${fault.message}).`);
  }
}

/** The bar separates the parts of an idempotency key. */
function checkName(profile: string): void {
  if (profile !== '' && !profile.includes('|')) return;
  throw new ConfigError(
    `The name of a profile must not be empty or contain a bar; ${JSON.stringify(profile)} is not valid.`,
  );
}

function checkCommand(profile: string, [program = '', ...args]: readonly string[]): void {
  if (program === '') throw new ConfigError(`The command of the profile ${profile} names no program.`);
  // Otherwise a client that asks for a session could choose the program.
  if ([...program.matchAll(BRACES)].some(([, literal]) => literal === undefined)) {
    throw new ConfigError(
      `The program of the profile ${profile} may not have placeholders; only arguments may.`,
    );
  }
  for (const [, literal, name] of args.flatMap((word) => [...word.matchAll(BRACES)])) {
    if (literal !== undefined || (PLACEHOLDERS as readonly string[]).includes(name!)) continue;
    const known = PLACEHOLDERS.map((word) => `{${word}}`).join(' ');
    throw new ConfigError(
      `The placeholder {${name}} of the profile ${profile} is unknown. Known are ${known}. Write {{${name}}} for the literal text.`,
    );
  }
}

function checkPattern(profile: string, pattern: string): void {
  try {
    new RegExp(pattern);
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
    throw new ConfigError(
      `The pattern ready.stdout of the profile ${profile} is not a valid regular expression (${fault.message}).`,
    );
  }
}
