/**
 * `cairn pin RUN`: writes an ended run as a regression test of its agent: the export of the run, and a test that runs the
 * agent with the recorded model and tools. The expectation is the ledger of the run.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Unreadable } from "../../codec/canonical.ts";
import { hasEnded } from "../../protocol/row.ts";
import { importFile } from "../../sdk/import-file.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { type Pinned, recordedRun } from "../../testing/kit/recorded-run.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { locateTyped } from "../../compose/locate.ts";
import { commandLine, count } from "../../render/words.ts";
import { settingsOf } from "../../compose/settings.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import type { Located } from "../../compose/catalogue.ts";
import { alreadyThere, unwritable, writeExport } from "./export.ts";
import { storeWithRun } from "../choose-transport.ts";

export interface PinFlags extends StoreFlags {
  readonly out: string;
}

interface Asked {
  readonly run: string;
  readonly flags: PinFlags;
}

export async function pinRun(shell: Shell, asked: Asked): Promise<number> {
  registerResolution();
  const { transport, run } = await storeWithRun(shell, asked);
  const { opened } = transport;
  const row = await opened.world.table.read(run, transport.now());
  if (row === null) throw transport.gone(run);
  if (!hasEnded(row)) throw notEnded(run, transport.command("watch", run));
  const located = await locateTyped(shell, { name: row.agent, settings: await settingsOf(shell, asked.flags) });
  const folder = resolve(shell.cwd, asked.flags.out);
  const [file, test] = [join(folder, `${run}.jsonl.gz`), join(folder, `${run}.test.ts`)];
  const taken = [file, test].find((each) => existsSync(each));
  if (taken !== undefined) throw alreadyThere(shell, taken, "ANOTHER-FOLDER");
  makeFolder(shell, folder);
  await writeExport(shell, { transport, run, file });
  const { pinned } = repeatable(run, file);
  writeFileSync(test, testOf({ run, located, pinned, folder, exported: await exportedName(located) }), { flag: "wx" });
  if (shell.json) printDocument(shell, { run, agent: row.agent, test, recording: file, ...pinned });
  else {
    const { terminal } = shell;
    terminal.out(`${terminal.paintOut("bold", test)}  ${count(pinned.calls.length, "call")}, ${pinned.status}`);
    terminal.out(`run it: ${terminal.paintOut("bold", `node --test ${relative(shell.cwd, test)}`)}`);
  }
  return EXIT.done;
}

function makeFolder(shell: Shell, folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw unwritable(shell, { file: folder, cause, instead: "ANOTHER-FOLDER" });
  }
}

/** A run that cannot be repeated leaves no recording behind. */
function repeatable(run: string, file: string): { readonly pinned: Pinned } {
  try {
    return recordedRun(readFileSync(file));
  } catch (error) {
    rmSync(file);
    if (!(error instanceof Unreadable)) throw error;
    const what = `run ${run} cannot be pinned`;
    const next = commandLine(["export", run]);
    throw new UserError({ code: error.code, exit: EXIT.refused, what, why: error.message, next }, { cause: error });
  }
}

/** The name under which the file exports the agent. */
async function exportedName({ agent, file }: Located): Promise<string> {
  const imported = await importFile(file);
  const exported = imported.kind === "imported" ? Object.entries(imported.exported) : [];
  return exported.find(([, value]) => value === agent)?.[0] ?? agent.name;
}

function testOf({
  run,
  located,
  pinned,
  folder,
  exported,
}: {
  readonly run: string;
  readonly located: Located;
  readonly pinned: Pinned;
  readonly folder: string;
  readonly exported: string;
}): string {
  const path = relative(folder, located.file).replaceAll("\\", "/");
  const from = path.startsWith(".") ? path : `./${path}`;
  const calls = pinned.calls.map((call) => `      ${JSON.stringify(call)},\n`).join("");
  return `/** Run ${run}, written by \`cairn pin\`: the agent must do the same with the same model and tools. */
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { expectPinned, recordedRun, runAgent } from "cairn-run/testing";
import { ${exported} as agent } from ${JSON.stringify(from)};

const { options } = recordedRun(readFileSync(new URL("./${run}.jsonl.gz", import.meta.url)));

test(${JSON.stringify(`agent ${located.agent.name} does what it did in run ${run}`)}, async () => {
  expectPinned(await runAgent(agent, options), {
    status: ${JSON.stringify(pinned.status)},
    result: ${JSON.stringify(pinned.result)},
    calls: [
${calls}    ],
  });
});
`;
}

function notEnded(run: string, next: string): UserError {
  const what = `run ${run} has not ended`;
  const why = "a test needs to know what the run came to";
  return new UserError({ code: "NotEnded", exit: EXIT.refused, what, why, next });
}
