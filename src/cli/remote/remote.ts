/**
 * The command line over HTTP: `--api URL`, as the owner of the access token in `CAIRN_TOKEN`. Each command that has a
 * route performs it through the client; every other command is refused by its name, with the reason.
 */
import type { Command } from "commander";
import { createClient } from "../../client/client.ts";
import { performAt } from "../../client/perform.ts";
import { CairnError } from "../../client/errors.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { Into } from "../arguments.ts";
import { CliError, EXIT, type ExitCode } from "../errors.ts";
import { commandLine } from "../render/words.ts";
import { type Shell, printDocument, printLines } from "../shell.ts";
import { REMOTE } from "./commands.ts";
import { type Answer, type RemoteFlags } from "./command.ts";

/** Replaces the action of every command, except that `mcp` speaks to the API itself, for as long as its client does. */
export function speakHttp(program: Command, into: Into): void {
  for (const command of leavesOf(program).filter((each) => nameOf(each) !== "mcp")) {
    command.action(async () => into.ends(speak(into.shell, command)));
  }
}

const leavesOf = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

/** The words of a command, such as `token create`. */
const nameOf = (command: Command): string =>
  command.parent === null || command.parent.parent === null
    ? command.name()
    : `${nameOf(command.parent)} ${command.name()}`;

async function speak(shell: Shell, command: Command): Promise<number> {
  const flags = command.optsWithGlobals<RemoteFlags>();
  const name = nameOf(command);
  const api = urlIn(shell, flags.api);
  const next = (...words: readonly string[]): string => commandLine([...words, "--api", flags.api]);
  const remote = REMOTE[name] ?? "it has no route";
  if (typeof remote === "string") {
    const what = `\`cairn ${name}\` does not work over HTTP`;
    const why = `${remote}; type it without --api, where the store is`;
    throw new CliError({ code: "NoRoute", exit: EXIT.usage, what, why, next: commandLine([name, "--help"]) });
  }
  refuseOthers(command, next);
  const token = shell.env["CAIRN_TOKEN"] ?? "";
  const headers = (): Readonly<Record<string, string>> => (token === "" ? {} : { authorization: `Bearer ${token}` });
  const endpoint = { url: api, send: (request: Request) => fetch(request), headers };
  const [client, perform] = [createClient(endpoint), performAt(endpoint)];
  const { terminal } = shell;
  const style = { now: Date.now(), paint: terminal.paintOut, width: terminal.width };
  try {
    const words = command.processedArgs as readonly (string | undefined)[];
    return print(shell, await remote({ shell, client, perform, flags, words, command: next, style }));
  } catch (error) {
    throw error instanceof CairnError ? refused(error, { api, hasToken: token !== "", next }) : error;
  }
}

function print(shell: Shell, { document, lines, text, exit = EXIT.done }: Answer): number {
  if (shell.json && lines !== undefined) printLines(shell, lines);
  else if (shell.json && document !== undefined) printDocument(shell, document);
  else if (!shell.json && text !== "") shell.terminal.out(text);
  return exit;
}

function urlIn(shell: Shell, text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  const why = "an API has a URL such as http://127.0.0.1:7420 or https://ID.execute-api.REGION.amazonaws.com/prod";
  const next = commandLine([...shell.argv.filter((word) => word !== text), "http://127.0.0.1:7420"]);
  throw new CliError({ code: "Usage", exit: EXIT.usage, what: `${text || "nothing"} is no URL of an API`, why, next });
}

/** Options that say where the store is, or whose runs are meant, do not count for an API: its token says that. */
function refuseOthers(command: Command, next: (...words: readonly string[]) => string): void {
  const given = ["store", "world", "tenant", "beatSeconds", "by"].find(
    (name) => command.getOptionValueSourceWithGlobals(name) === "cli",
  );
  if (given === undefined) return;
  const option = `--${given.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const what = `${option} cannot be used with --api`;
  const why = "the server knows the store, and the token says whose runs are meant and who asks";
  throw new CliError({ code: "Usage", exit: EXIT.usage, what, why, next: next(nameOf(command)) });
}

/** The exit code of each code that the operation table gives. */
const EXITS: ReadonlyMap<string, ExitCode> = new Map(
  Object.values(OPERATIONS).flatMap(({ outcomes }) =>
    Object.values(outcomes).flatMap(({ code, exit }) => (code === null ? [] : [[code, EXIT[exit]] as const])),
  ),
);

function refused(
  error: CairnError,
  of: { readonly api: string; readonly hasToken: boolean; readonly next: (...words: readonly string[]) => string },
): CliError {
  const { code, status, message } = error;
  const [what = "", ...rest] = message.split(": ");
  const isLoginMissing = status === 401 && !of.hasToken;
  const why = isLoginMissing
    ? "CAIRN_TOKEN is not set"
    : rest.join(": ") || `${of.api} answered ${status ?? "nothing"}`;
  const next = status === 401 ? "export CAIRN_TOKEN=cairn_ID_SECRET" : of.next("list");
  const exit = EXITS.get(code) ?? exitFor(status);
  return new CliError({ code, exit, what, why, next }, { cause: error });
}

function exitFor(status: number | null): ExitCode {
  if (status === null || status >= 500) return EXIT.store;
  if (status === 404) return EXIT.notFound;
  return [400, 413, 415, 422].includes(status) ? EXIT.usage : EXIT.refused;
}
