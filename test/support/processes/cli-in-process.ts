/** The command line within the test's process, in a folder that is also a store. */
import { plain } from "../../../src/render/paint.ts";
import { runCommand } from "../../../src/cli/program.ts";
import type { Shell } from "../../../src/cli/shell.ts";
import { fitPrinted } from "./printed-json.ts";
import { WORLDS } from "../../../src/compose/worlds.ts";

export interface CliOutput {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

interface CliShellOptions {
  readonly dir: string;
  /** The directory of the store; the folder itself by default. */
  readonly store?: string;
  readonly env?: Shell["env"];
  /** Answers a command's questions at the terminal; null: there is no terminal. */
  readonly person: Shell["ask"];
  /** What is piped to it; default: nothing. */
  readonly stdin?: Uint8Array;
}

/** A shell with these typed words, and its output. */
export function createShell(of: CliShellOptions, words: readonly string[]) {
  const said = { out: "", err: "" };
  const shell: Shell = {
    argv: words,
    worlds: WORLDS,
    ...{ env: of.env ?? {}, cwd: of.dir, json: words.includes("--json"), user: () => "ada", host: () => "loom" },
    readStdin: async () => of.stdin ?? new Uint8Array(),
    ask: of.person,
    stopSignal: () => new AbortController().signal,
    outliveOutput: () => {},
    lostOutput: () => null,
    terminal: {
      out: (text) => void (said.out += `${text}\n`),
      err: (text) => void (said.err += `${text}\n`),
      ...{ waitFor: () => undefined, paintOut: plain, paintErr: plain, width: 160, isLive: false },
    },
  };
  return { shell, said };
}

export async function runCliAt(of: CliShellOptions, ...words: readonly string[]): Promise<CliOutput> {
  const { shell, said } = createShell(of, [...words, "--store", of.store ?? of.dir]);
  const exit = await runCommand(shell, "0");
  if (shell.json) fitPrinted(words, said.out);
  return { exit, ...said };
}

export const runCli = (dir: string, ...words: readonly string[]): Promise<CliOutput> =>
  runCliAt({ dir, person: null }, ...words);
