/** The command line: the commands, their options, and how they end. */
import { Command, CommanderError } from "commander";
import { UserError, EXIT } from "../compose/user-error.ts";
import { errorDocument, renderError } from "./errors.ts";
import { COMMANDS } from "./commands.ts";
import type { TypedCommand } from "./typed-command.ts";
import { addCommands } from "./program-commands.ts";
import { type Shell, printDocument } from "./shell.ts";
import { commandLine } from "../render/words.ts";

/** Runs the command that the user typed, and returns its exit code. Never rejects: it prints an error instead. */
export async function runCommand(
  shell: Shell,
  version: string,
  commands: readonly TypedCommand[] = COMMANDS,
): Promise<number> {
  try {
    return await parse(shell, version, commands);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    const { asUserError } = await import("./thrown-errors.ts");
    const told = asUserError(error, shell.argv);
    shell.terminal.waitFor(null);
    if (shell.json) printDocument(shell, errorDocument(told));
    else shell.terminal.err(renderError(told, shell.terminal.paintErr));
    return told.trouble.exit;
  }
}

async function parse(shell: Shell, version: string, commands: readonly TypedCommand[]): Promise<number> {
  let exit: number = EXIT.done;
  const ends = (command: Promise<number>): Promise<void> =>
    command.then((code) => {
      exit = code;
    });
  const program = programOf(shell, version);
  addCommands(program, { shell, ends }, commands);
  if (isOverHttp(shell.argv)) {
    const { refuseHere } = await import("./remote/remote.ts");
    program.hook("preAction", (_, command) => refuseHere(command, shell.argv));
  }
  if (shell.argv.length === 0) {
    program.outputHelp();
    return EXIT.usage;
  }
  try {
    await program.parseAsync([...shell.argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode === 0) throw error;
    throw usageError(shell, { error, commands: program.commands });
  }
  return exit;
}

const API = "--api <url>";

const isOverHttp = (argv: readonly string[]): boolean =>
  argv.some((word) => word === "--api" || word.startsWith("--api="));

function programOf(shell: Shell, version: string): Command {
  const program = bareProgram(shell, version);
  for (const { flags, says } of shell.worlds.flatMap(({ options }) => options)) program.option(flags, says);
  const names = shell.worlds.map(({ name }) => name);
  const [first = ""] = names;
  return program
    .option(API, "speak HTTP to the API at this URL, with the access token in CAIRN_TOKEN")
    .option(
      "--world <name>",
      `where runs are stored: ${names.join(" or ")} (default: CAIRN_WORLD, then the config file, then ${first})`,
    );
}

function bareProgram({ terminal }: Shell, version: string): Command {
  return new Command("cairn")
    .description("LLM agents that survive anything: one short, fenced, resumable beat at a time.")
    .version(version, "--version", "print the version")
    .option("--json", "print only JSON on stdout: one document, or JSON lines")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
      // `runCommand` prints the error, in the same form as every other error.
      outputError: () => {},
    })
    .addHelpText("after", AFTER_HELP)
    .exitOverride();
}

const AFTER_HELP = `
A run ID may be shortened to a unique prefix of at least 6 characters, its tenant not counted.
Exit codes: 0 done, 1 the run or check failed, 2 usage, 3 not found, 4 refused or an operator is needed, 5 store or output error;
130 and 143 if a waiting command was interrupted.

Begin with:
  npx cairn-run init my-agents`;

/** Turns an error of commander into the form of every other error. */
function usageError(
  { argv }: Shell,
  { error, commands }: { readonly error: CommanderError; readonly commands: readonly Command[] },
): UserError {
  const [first = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const what = error.code === "commander.help" ? "no command was given" : first;
  // A global option with a value may come before the command.
  const command = argv.find((word) => commands.some((each) => each.name() === word));
  const [, unknown = ""] = /^unknown command '(.+)'$/.exec(first) ?? [];
  const isKnown = command !== undefined && argv.indexOf(command) < (argv.indexOf(unknown) + 1 || Infinity);
  const group = isKnown ? undefined : commands.find((each) => each.commands.some((own) => own.name() === unknown));
  const next = commandLine([...(isKnown ? [command] : []), "--help"]);
  const help = isKnown ? "the help lists the arguments and options of this command" : "the help lists all commands";
  const like = /Did you mean (.+)\?/.exec(more.join(" "))?.[1];
  const meant = group === undefined ? like : `${group.name()} ${unknown}`;
  const why = meant === undefined ? help : `did you mean ${meant}?`;
  return new UserError({ code: "Usage", exit: EXIT.usage, what, why, next }, { cause: error });
}
