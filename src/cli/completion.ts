/**
 * `leasehold completion`: scripts for bash, zsh and fish, generated from the commands themselves. Each of them finds
 * the command that the line has reached and offers what may follow.
 */
import { Argument, Command } from 'commander';
import { examples } from './connection.ts';
import { CODES } from './explain.ts';
import { sayJson } from './output.ts';
import type { Shell } from './shell.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type ShellName = (typeof SHELLS)[number];

/** A place on the command line: the words that lead there and what may follow. */
export interface Place {
  /** `task add`; empty for `leasehold` itself. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly says: string }[];
  /** Options that a value follows, and what it may be; nothing means that a file, a number or a name is expected. */
  readonly valued: readonly { readonly option: string; readonly values: readonly string[] }[];
}

export function completionCommand(shell: Shell, program: () => Promise<Command>): Command {
  return new Command('completion')
    .description('Print a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .option('--json', 'print the script as one JSON object')
    .addHelpText(
      'after',
      examples(
        'source <(leasehold completion bash)    # or in ~/.bashrc',
        'leasehold completion zsh > ~/.zfunc/_leasehold',
        'leasehold completion fish > ~/.config/fish/completions/leasehold.fish',
      ),
    )
    .action(async (name: ShellName, { json }: { readonly json?: boolean }) => {
      const script = SCRIPTS[name](placesOf(await program()));
      if (json) sayJson(shell, { shell: name, script });
      else shell.out.write(script);
    });
}

export function placesOf(command: Command, path = ''): Place[] {
  const below = command.commands.filter((child) => child.name() !== 'help');
  const options = command.createHelp().visibleOptions(command);
  const place = {
    path,
    words: [
      ...below.map((child) => ({ word: child.name(), says: child.description() })),
      ...options.map(({ long, short, description }) => ({ word: long ?? short ?? '', says: description })),
      ...valuesOf(command),
    ],
    valued: options
      .filter(({ required, optional }) => required || optional)
      .map(({ long, short, argChoices = [] }) => ({ option: long ?? short ?? '', values: argChoices })),
  };
  return [place, ...below.flatMap((child) => placesOf(child, `${path} ${child.name()}`.trim()))];
}

/** Words that an argument may be. */
function valuesOf(command: Command): Place['words'] {
  if (command.name() === 'explain') {
    return CODES.map(({ code, says }) => ({ word: code, says }));
  }
  const choices = command.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
  return choices.map((word) => ({ word, says: '' }));
}

const SCRIPTS: Readonly<Record<ShellName, (places: readonly Place[]) => string>> = {
  bash: (places) => `# Completion of leasehold for bash; made by \`leasehold completion bash\`.
_leasehold() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    # After -- comes the command line of another program.
    if [[ "\${COMP_WORDS[i]}" == "--" ]]; then
      ((i + 1 == COMP_CWORD)) && COMPREPLY=($(compgen -c -- "$current"))
      return
    fi
    case "\${path:+$path }\${COMP_WORDS[i]}" in
      ${alternatives(places)}) path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "\${path:+$path }\${COMP_WORDS[COMP_CWORD - 1]}" in
${valueCases(places, (values) => `COMPREPLY=($(compgen -W ${quoted(values.join(' '))} -- "$current")); return`, 'return')}
  esac
  case "$path" in
${places.map(({ path, words }) => `    ${quoted(path)}) words=${quoted(words.map(({ word }) => word).join(' '))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  # Options are offered once a word begins with -; where nothing else fits, a file is expected.
  [[ "$current" == -* ]] || COMPREPLY=($(printf '%s\\n' "\${COMPREPLY[@]}" | grep -v '^-'))
}
complete -o default -F _leasehold leasehold
`,

  zsh: (places) => `#compdef leasehold
# Completion of leasehold for zsh; made by \`leasehold completion zsh\`.
_leasehold() {
  local place="" word
  local -i i
  local -a offered
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    # After -- comes the command line of another program.
    if [[ "$word" == "--" ]]; then
      shift $i words
      ((CURRENT -= i))
      _normal
      return
    fi
    case "\${place:+$place }$word" in
      ${alternatives(places)}) place="\${place:+$place }$word" ;;
    esac
  done
  case "\${place:+$place }\${words[CURRENT - 1]}" in
${valueCases(places, (values) => `compadd -- ${values.map(quoted).join(' ')}; return`, '_files; return')}
  esac
  case "$place" in
${places.map(({ path, words }) => `    ${quoted(path)}) offered=(${words.map(zshWord).join(' ')}) ;;`).join('\n')}
  esac
  # Options are offered once a word begins with -; where nothing else fits, a file is expected.
  [[ "$PREFIX" == -* ]] || offered=("\${(@)offered:#-*}")
  if (($#offered)); then _describe 'leasehold' offered; else _files; fi
}
if [[ "$funcstack[1]" == "_leasehold" ]]; then
  _leasehold "$@"
else
  compdef _leasehold leasehold
fi
`,

  fish: (places) => `# Completion of leasehold for fish; made by \`leasehold completion fish\`.
function __leasehold_place
    set -l place ""
    for word in (commandline -opc)[2..-1]
        # After -- comes the command line of another program.
        if test "$word" = "--"
            echo /
            return
        end
        set -l next (string trim -- "$place $word")
        switch "$next"
            case ${inner(places).map(quoted).join(' ')}
                set place $next
        end
    end
    echo $place
end
${places.flatMap(fishLines).join('\n')}
`,
};

/** After an option that takes a value: its allowed values, or else a file. */
function valueCases(
  places: readonly Place[],
  offer: (values: readonly string[]) => string,
  otherwise: string,
): string {
  const cases = places.flatMap(({ path, valued }) =>
    valued.map(({ option, values }) => {
      const does = values.length > 0 ? offer(values) : otherwise;
      return `    ${quoted(`${path} ${option}`.trim())}) ${does} ;;`;
    }),
  );
  return cases.join('\n');
}

function inner(places: readonly Place[]): string[] {
  return places.map(({ path }) => path).filter((path) => path !== '');
}

function alternatives(places: readonly Place[]): string {
  return inner(places).map(quoted).join(' | ');
}

function fishLines({ path, words, valued }: Place): string[] {
  const at = `complete -c leasehold -n ${quoted(`test (__leasehold_place) = "${path}"`)}`;
  const isFork = words.some(({ word }) => !word.startsWith('-'));
  const lines = words.map(({ word, says }) => {
    const what = word.startsWith('--')
      ? `-l ${word.slice(2)}`
      : word.startsWith('-')
        ? `-s ${word.slice(1)}`
        : `-a ${word}`;
    const values = valued.find(({ option }) => option === word)?.values;
    const value =
      values === undefined ? '' : values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : ' -r';
    return `${at} ${what}${value}${says === '' ? '' : ` -d ${quoted(says)}`}`;
  });
  // An argument with a fixed list of words is not a file.
  return isFork ? [`${at} -f`, ...lines] : lines;
}

function zshWord({ word, says }: Place['words'][number]): string {
  return quoted(says === '' ? word : `${word}:${says}`);
}

/** In single quotes, in which shells expand nothing. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
