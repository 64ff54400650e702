/** `cairn snapshot RUN VERSION`: prints the whole state of a run at one of its versions, as JSON. */
import { OPERATIONS } from "../../operations/table.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { refusedAs, unlessRunGone } from "../perform.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { transportToReadRun } from "../choose-transport.ts";

export async function showVersion(
  shell: Shell,
  typed: { readonly run: string; readonly version: string; readonly flags: StoreFlags },
): Promise<number> {
  if (!/^\d{1,15}$/.test(typed.version)) {
    const [what, why] = [`${typed.version} is no version`, "a version is the number of commits of the run, such as 4"];
    throw new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: "npx cairn timeline RUN" });
  }
  const { transport, run } = await transportToReadRun(shell, typed);
  const version = Number(typed.version);
  const outcome = await transport.perform("snapshot", { run, version });
  const shown = unlessRunGone(transport, { run, outcome });
  if (shown.kind === "versionUnknown") {
    const [what, why] = [`run ${run} has no version ${version}`, `its newest one is ${shown.of}`];
    const next = transport.command("snapshot", run, String(shown.of));
    throw refusedAs(OPERATIONS.snapshot, shown.kind, { what, why, next });
  }
  const { kind: _, ...document } = shown;
  if (shell.json) printDocument(shell, document);
  else shell.terminal.out(JSON.stringify(document, null, 2));
  return EXIT.done;
}
