/**
 * What the orchestrator runs: its tuners, and for every profile the program of a pipeline. Everything that can be
 * found wrong with it is found when it is read, in a sentence, and not when somebody wants to watch something.
 *
 * Placeholders stand inside arguments, as in `-i {serviceRef}`; what they stand for is one argument or a part of one,
 * whatever is in it, because no shell ever sees it. `{{word}}` is a literal `{word}`.
 */
import { ORCHESTRATOR_CONFIG, type OrchestratorConfig } from './config-schema.ts';

export type { OrchestratorConfig, PipelineProfile } from './config-schema.ts';

const PLACEHOLDERS = ['serviceRef', 'recordingID', 'start_ms', 'slot', 'session_id'] as const;
type Placeholder = (typeof PLACEHOLDERS)[number];
export type Filling = Readonly<Record<Placeholder, string>>;

const BRACES = /\{\{(\w+)\}\}|\{(\w+)\}/g;

/** The message is a sentence for whoever wrote the file. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export function readConfig(text: string): OrchestratorConfig {
  const config = parse(text);
  if (!ORCHESTRATOR_CONFIG.accepts(config)) {
    throw new ConfigError(ORCHESTRATOR_CONFIG.explain(config).replace(/^The request/, 'The configuration'));
  }
  const known = config as OrchestratorConfig;
  for (const [name, { command, ready }] of Object.entries(known.profiles)) {
    checkName(name);
    checkCommand(name, command);
    if (ready !== undefined) checkPattern(name, ready.stdout);
  }
  return known;
}

/** The command of a session, with every placeholder filled. */
export function filled(command: readonly string[], filling: Filling): string[] {
  return command.map((word) =>
    word.replace(BRACES, (_, literal: string | undefined, name: string) =>
      literal === undefined ? filling[name as Placeholder] : `{${literal}}`,
    ),
  );
}

/** The text as an argument of a command in which no placeholder is seen. */
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

/** The bar stands between the parts of an idempotency key. */
function checkName(profile: string): void {
  if (profile !== '' && !profile.includes('|')) return;
  throw new ConfigError(
    `The name of a profile must be some text without a bar, which ${JSON.stringify(profile)} is not.`,
  );
}

function checkCommand(profile: string, [program = '', ...args]: readonly string[]): void {
  if (program === '') throw new ConfigError(`The command of the profile ${profile} names no program.`);
  // Whoever may ask for a session would otherwise choose what is run.
  if ([...program.matchAll(BRACES)].some(([, literal]) => literal === undefined)) {
    throw new ConfigError(
      `The program of the profile ${profile} may not have placeholders; only arguments may.`,
    );
  }
  for (const [, literal, name] of args.flatMap((word) => [...word.matchAll(BRACES)])) {
    if (literal !== undefined || (PLACEHOLDERS as readonly string[]).includes(name!)) continue;
    const known = PLACEHOLDERS.map((word) => `{${word}}`).join(' ');
    throw new ConfigError(
      `The placeholder {${name}} of the profile ${profile} is unknown; known are ${known}, and {{${name}}} stands for itself.`,
    );
  }
}

function checkPattern(profile: string, pattern: string): void {
  try {
    new RegExp(pattern);
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
    throw new ConfigError(
      `The pattern ready.stdout of the profile ${profile} is no regular expression (${fault.message}).`,
    );
  }
}
