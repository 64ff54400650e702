/** Sends an action once, and says what came of it. */
import { ask } from "../api/http.ts";
import { type Trouble, troubleOf } from "../api/problem.ts";
import type { Action } from "../model/commands.ts";

export type Sent =
  | { readonly kind: "no" }
  | { readonly kind: "sending" }
  | { readonly kind: "accepted"; readonly outcome: Readonly<Record<string, unknown>> }
  | { readonly kind: "refused"; readonly trouble: Trouble };

/** The run that an outcome names or describes; empty if there is none. */
export const runIn = ({ run }: Readonly<Record<string, unknown>>): string =>
  typeof run === "string" ? run : ((run as { readonly run: string } | undefined)?.run ?? "");

export async function sendAction({ method, path, body }: Action): Promise<Sent> {
  try {
    // A POST without a field sends no body at all.
    const given = body === undefined || Object.keys(body).length === 0 ? undefined : body;
    const outcome = await ask<Readonly<Record<string, unknown>> | null>(path, { method, body: given });
    return { kind: "accepted", outcome: outcome ?? {} };
  } catch (error) {
    return { kind: "refused", trouble: troubleOf(error) };
  }
}
