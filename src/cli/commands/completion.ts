/** `cairn completion SHELL`: prints a script with which bash, zsh or fish completes commands, options and their values. */
import type { Command, Option } from "commander";
import { EXIT } from "../../compose/user-error.ts";
import type { Shell } from "../shell.ts";

/** A shell in which commands can be completed. */
export type ShellName = "bash" | "zsh" | "fish";

/** A command as it is typed, such as `token create`, with what may follow it. */
interface Completed {
  readonly words: string;
  readonly help: string;
  readonly options: readonly Option[];
}

export function printCompletion({ terminal }: Pick<Shell, "terminal">, program: Command, shell: ShellName): number {
  terminal.out(SCRIPTS[shell](commandsIn(program), optionsOf(program)));
  return EXIT.done;
}

function commandsIn(program: Command): readonly Completed[] {
  return program.commands.flatMap((command): readonly Completed[] => {
    const [words, help] = [command.name(), command.description()];
    const own: Completed = { words, help, options: optionsOf(command) };
    const belowIt = (each: Completed): Completed => ({ ...each, words: `${words} ${each.words}` });
    return [own].concat(commandsIn(command).map(belowIt));
  });
}

const optionsOf = (command: Command): readonly Option[] => command.options.filter(({ hidden }) => !hidden);

const flagOf = ({ long, short }: Option): string => long ?? short ?? "";

/** What may follow `words`: its next words, where it is a group such as `token`. */
const nextWords = (commands: readonly Completed[], words: string): readonly string[] =>
  commands.flatMap((each) => {
    const before = words === "" ? "" : `${words} `;
    const rest = each.words.startsWith(before) ? each.words.slice(before.length) : "";
    return rest === "" || rest.includes(" ") ? [] : [rest];
  });

type Script = (commands: readonly Completed[], globals: readonly Option[]) => string;

/** Which command is being typed: the longest one whose words were typed so far, options left out. */
const SEEN = (names: string, typed: string) => `  for each in ${typed}; do
    case " ${names} " in *" \${command:+\${command}_}\${each} "*) command="\${command:+\${command}_}\${each}" ;; esac
  done`;

const keyOf = ({ words }: Completed): string => words.replaceAll(" ", "_");

function bash(commands: readonly Completed[], globals: readonly Option[]): string {
  const all = [{ words: "", help: "", options: [] as readonly Option[] }, ...commands];
  const values = (options: readonly Option[], key: string): readonly string[] =>
    options.flatMap((option) =>
      option.argChoices === undefined
        ? []
        : [`    "${key} ${flagOf(option)}") words="${option.argChoices.join(" ")}" ;;`],
    );
  const offered = (each: Completed): string =>
    [...nextWords(commands, each.words), ...[...each.options, ...globals].map(flagOf)].join(" ");
  return `# Completes the commands of cairn in bash: source <(cairn completion bash)
_cairn() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="" words="" each
${SEEN(commands.map(keyOf).join(" "), '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  case "$command $before" in
${all.flatMap((each) => values(each.options, keyOf(each))).join("\n")}
  esac
  if [ -z "$words" ]; then
    case "$command" in
${all.map((each) => `      "${keyOf(each)}") words="${offered(each)}" ;;`).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _cairn cairn`;
}

/** Within single quotes of zsh, and within the description of an option. */
const quoted = (text: string): string => text.replaceAll("'", "'\\''");
const described = (text: string): string => quoted(text.replaceAll(/[[\]:\\]/g, (sign) => `\\${sign}`));

function zsh(commands: readonly Completed[], globals: readonly Option[]): string {
  const valueOf = ({ argChoices, required, optional }: Option): string => {
    if (argChoices !== undefined) return `:value:(${argChoices.join(" ")})`;
    return required || optional ? ":value:_files" : "";
  };
  const argument = (option: Option): string =>
    `      '${flagOf(option)}[${described(option.description)}]${valueOf(option)}'`;
  const below = (words: string): string =>
    commands
      .filter((each) => nextWords(commands, words).some((next) => [words, next].join(" ").trim() === each.words))
      .map(
        (each) => `      '${quoted(each.words.split(" ").at(-1) ?? "").replaceAll(":", "\\:")}:${quoted(each.help)}'`,
      )
      .join("\n");
  const branch = (each: Completed): string => {
    const isGroup = nextWords(commands, each.words).length > 0;
    const describe = `      offered=(\n${below(each.words)}\n      )\n      _describe command offered`;
    const list = [...each.options, ...globals].map(argument).join(" \\\n");
    return `    '${keyOf(each)}')\n${isGroup ? `${describe}\n` : ""}      _arguments \\\n${list}${isGroup ? "" : " \\\n      '*:file:_files'"}\n      ;;`;
  };
  const all = [{ words: "", help: "", options: [] as readonly Option[] }, ...commands];
  return `#compdef cairn
# Completes the commands of cairn in zsh: source <(cairn completion zsh)
_cairn() {
  local command="" each
  local -a offered
${SEEN(commands.map(keyOf).join(" "), '"${(@)words[2,CURRENT-1]}"')}
  case "$command" in
${all.map(branch).join("\n")}
  esac
}
compdef _cairn cairn`;
}

function fish(commands: readonly Completed[], globals: readonly Option[]): string {
  const option = (each: Option, when: string): string => {
    const takes = each.argChoices === undefined ? (each.required ? " -r" : "") : ` -xa '${each.argChoices.join(" ")}'`;
    return `complete -c cairn${when} -l ${flagOf(each).replace(/^--/, "")}${takes} -d '${escaped(each.description)}'`;
  };
  const escaped = (text: string): string => text.replaceAll(/['\\]/g, (sign) => `\\${sign}`);
  const seen = ({ words }: Completed): string => {
    const each = words.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
    return ` -n '${each.join("; and ")}'`;
  };
  const first = ({ words, help }: Completed): string => {
    const [name = "", below] = words.split(" ");
    const when = below === undefined ? "__fish_use_subcommand" : `__fish_seen_subcommand_from ${name}`;
    return `complete -c cairn -f -n '${when}' -a ${below ?? name} -d '${escaped(help)}'`;
  };
  return [
    "# Completes the commands of cairn in fish: cairn completion fish | source",
    ...commands.map(first),
    ...globals.map((each) => option(each, "")),
    ...commands.flatMap((command) => command.options.map((each) => option(each, seen(command)))),
  ].join("\n");
}

const SCRIPTS: Readonly<Record<ShellName, Script>> = { bash, zsh, fish };
