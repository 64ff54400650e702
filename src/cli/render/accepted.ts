/** The messages after an operation was accepted: what follows, and what to type if no process drives the run. */
import type { Json } from "../../core/json.ts";
import { type Opened, attendantOf } from "../open.ts";
import { type Shell, printDocument } from "../shell.ts";

/** Prints that an operator's decision was accepted, and who made it. If no process drives the run, it says what to type. */
export function reportAccepted(
  shell: Shell,
  opened: Opened,
  of: { readonly document: Readonly<Record<string, Json>> & { readonly run: string }; readonly says: string },
): void {
  const { document, says } = of;
  const by = shell.user();
  const supervisor = attendantOf(opened);
  if (shell.json) return printDocument(shell, { ...document, by, accepted: true, supervisor });
  const { command } = opened.settings;
  shell.terminal.out(`${says}, says ${by}`);
  if (supervisor === null) shell.terminal.out(`to continue the run, type \`${command("work")}\``);
  else shell.terminal.out(`the run continues; watch it: ${command("watch", document.run)}`);
}

/** Prints that a request was accepted. If no process drives the runs of the store, it says what to type. */
export function reportRequested(
  shell: Shell,
  opened: Opened,
  of: { readonly document: Readonly<Record<string, unknown>>; readonly says: readonly string[] },
): void {
  const { document, says } = of;
  const supervisor = attendantOf(opened);
  if (shell.json) return printDocument(shell, { ...document, supervisor });
  for (const line of says) shell.terminal.out(line);
  if (supervisor === null)
    shell.terminal.out(`no process works on this store now; to start one: ${opened.settings.command("work")}`);
}
