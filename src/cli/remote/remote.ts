/**
 * The command line with `--api URL`: a command without a route is refused by its name, with the reason. Every other one
 * performs its operations over HTTP (`http-transport.ts`).
 */
import type { Command } from "commander";
import { ROWS } from "../../operations/table.ts";
import { commandLine } from "../../render/words.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";

const HERE = "it works on this machine";
const STORE = "it needs the store itself, or the settings of the deployment";

/** Operations that only the store reaches say why in their own files. */
const OF_OPERATIONS = Object.fromEntries(
  Object.values(ROWS).flatMap(({ typed, storeOnly }) =>
    storeOnly === undefined ? [] : typed.map(({ command, option = "" }) => [`${command} ${option}`.trim(), storeOnly]),
  ),
);

/** Commands that work only where the store is, and why. */
export const WITHOUT_ROUTE: Readonly<Record<string, string>> = {
  ...OF_OPERATIONS,
  init: HERE,
  dev: HERE,
  serve: HERE,
  work: STORE,
  pin: `${HERE}: export the run, and pin where its agent is`,
  chaos: HERE,
  audit: STORE,
  doctor: STORE,
  rollout: STORE,
  backup: STORE,
  restore: STORE,
};

/**
 * Refuses a command that has no route, and options that mean nothing to an API. `mcp` speaks to the API itself. `argv` is
 * what the user typed.
 */
export function refuseHere(command: Command, argv: readonly string[]): void {
  const words = wordsOf(command);
  const name = words.join(" ");
  if (name === "mcp") return;
  const typed = command.optsWithGlobals<{ readonly all?: boolean }>().all === true ? `${name} --all` : name;
  const refused = [typed, name].find((each) => WITHOUT_ROUTE[each] !== undefined);
  if (refused !== undefined) {
    const what = `\`cairn ${refused}\` does not work over HTTP`;
    const why = `${WITHOUT_ROUTE[refused] ?? ""}; type it without --api, where the store is`;
    throw new UserError({ code: "NoRoute", exit: EXIT.usage, what, why, next: commandLine([...words, "--help"]) });
  }
  // They say where the store is, or whose runs are meant: for an API, its token says that.
  const given = ["store", "world", "tenant", "beatSeconds", "by"].find(
    (option) => command.getOptionValueSourceWithGlobals(option) === "cli",
  );
  if (given === undefined) return;
  const option = `--${given.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw new UserError({
    code: "Usage",
    exit: EXIT.usage,
    what: `${option} cannot be used with --api`,
    why: "the server knows the store, and the token says whose runs are meant and who asks",
    next: commandLine(argv.filter((word, at) => !isOf(option, word) && argv[at - 1] !== option).map(withoutPassword)),
  });
}

const isOf = (option: string, word: string): boolean => word === option || word.startsWith(`${option}=`);

/** The URL of the API is not checked yet. */
const withoutPassword = (word: string): string => word.replace(/\/\/[^/@\s]*@/, "//");

/** The words of a command, such as `token` and `create`. */
const wordsOf = (command: Command): readonly string[] =>
  command.parent === null || command.parent.parent === null
    ? [command.name()]
    : [...wordsOf(command.parent), command.name()];
