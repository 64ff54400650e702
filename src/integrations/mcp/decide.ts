/** Sends the decisions and answers of the client's human to the run. */
import type { AnyRun, Client } from "../../client/client.ts";
import { CairnError } from "../../client/errors.ts";
import { type McpDecision, decisionsIn } from "./input-requests.ts";

/** An answer to what is open no longer is ignored: the first decision counts, whoever sent it. */
export async function decideEach(
  cairn: Client,
  answered: { readonly run: AnyRun; readonly inputResponses: Readonly<Record<string, unknown>> },
): Promise<void> {
  for (const decided of decisionsIn(answered.run, answered.inputResponses)) {
    await sent(cairn, answered.run.run, decided).catch((error: unknown) => {
      if (!(error instanceof CairnError && OVER.has(error.code))) throw error;
    });
  }
}

const OVER = new Set(["Duplicate", "Stale", "Late", "NoEffect"]);

async function sent(cairn: Client, run: string, decided: McpDecision): Promise<void> {
  if (decided.kind === "answer") await cairn.answer(run, decided.call, decided.result);
  else if (decided.kind === "deny") await cairn.deny(run, decided.gate, { note: decided.note });
  else {
    const { gate, note, usd } = decided;
    await cairn.approve(run, gate, { note, ...(usd !== null && { more: { microUsd: Math.round(usd * 1_000_000) } }) });
  }
}
