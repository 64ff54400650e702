/** The message after an operator's decision was accepted: who made it, and how the run goes on. */
import type { Json } from "../../core/json.ts";
import { type Opened, attendantOf } from "../open.ts";
import { type Shell, printDocument } from "../shell.ts";

/** Prints that a decision was accepted. If no process drives the run, it says what to type. */
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
  if (supervisor === null) shell.terminal.out(`the run goes on with \`${command("work")}\``);
  else shell.terminal.out(`the run goes on; watch it: ${command("watch", document.run)}`);
}
