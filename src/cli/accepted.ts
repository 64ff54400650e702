/** The messages after an operation was accepted: what follows, and what to type if no process drives the run. */
import type { Json } from "../core/json.ts";
import { type Shell, printDocument } from "./shell.ts";
import type { Transport } from "./transport.ts";

/** Prints that an operator's decision was accepted, and who made it. If no process drives the run, it says what to type. */
export async function reportAccepted(
  shell: Shell,
  transport: Transport,
  {
    document,
    says,
  }: { readonly document: Readonly<Record<string, Json>> & { readonly run: string }; readonly says: string },
): Promise<void> {
  const by = await transport.actor();
  const supervisor = (await transport.attendant())?.id ?? null;
  if (shell.json) return printDocument(shell, { ...document, by, accepted: true, supervisor });
  const { command } = transport;
  shell.terminal.out(`${says}, says ${by}`);
  if (supervisor === null) shell.terminal.out(`to continue the run, type \`${command("work")}\``);
  else shell.terminal.out(`the run continues; watch it: ${command("watch", document.run)}`);
}

/** Prints that a request was accepted. If no process drives the runs of the store, it says what to type. */
export async function reportRequested(
  shell: Shell,
  transport: Transport,
  { document, says }: { readonly document: Readonly<Record<string, unknown>>; readonly says: readonly string[] },
): Promise<void> {
  const supervisor = (await transport.attendant())?.id ?? null;
  if (shell.json) return printDocument(shell, { ...document, supervisor });
  for (const line of says) shell.terminal.out(line);
  if (supervisor === null)
    shell.terminal.out(`no process works on this store now; to start one: ${transport.command("work")}`);
}
