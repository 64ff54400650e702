/** `cairn webhooks list` and `redeliver`: what waits for each endpoint, and sending again what it refused. */
import { EXIT } from "../../compose/user-error.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { renderWebhooks } from "../../render/webhooks.ts";
import { transportTo, transportToRead } from "../choose-transport.ts";
import { refusedAs } from "../perform.ts";
import { type Shell, printDocument, printLines } from "../shell.ts";
import { styleOf } from "../style.ts";

/** Endpoints belong to the store and not to a tenant, and so does who types a command beside it. */
const HERE = { isOperator: true } as const;

export async function showWebhooks(shell: Shell, flags: StoreFlags): Promise<number> {
  const transport = await transportToRead(shell, flags);
  const { endpoints } = await transport.perform("webhooks", {}, HERE);
  if (shell.json) printLines(shell, endpoints);
  else shell.terminal.out(renderWebhooks(endpoints, styleOf(shell, transport)));
  return EXIT.done;
}

interface RedeliverTyped {
  readonly endpoint: string;
  readonly notification?: string;
  readonly flags: StoreFlags & { readonly to?: string; readonly why?: string };
}

export async function redeliverTyped(shell: Shell, { endpoint, notification, flags }: RedeliverTyped): Promise<number> {
  const transport = await transportTo(shell, flags);
  const { to = null, why = "" } = flags;
  const asked = { endpoint, notification: notification ?? null, to, why };
  const outcome = await transport.perform("redeliver", asked, HERE);
  if (outcome.kind !== "redelivered") {
    const row = OPERATIONS.redeliver;
    const what = `nothing was put back for endpoint ${endpoint}`;
    throw refusedAs(row, outcome.kind, {
      what,
      why: row.outcomes[outcome.kind].says,
      next: transport.command("webhooks", "list"),
    });
  }
  const { kind: _, ...document } = outcome;
  if (shell.json) printDocument(shell, document);
  else {
    const { notifications: count } = outcome;
    const words = count === 1 ? "1 notification is due now" : `${count} notifications are due now`;
    shell.terminal.out(`${words}: the next sweep sends ${count === 1 ? "it" : "them"} to ${outcome.endpoint}`);
    if (outcome.isMore) shell.terminal.err("there may be more: type the same command again");
  }
  return EXIT.done;
}
