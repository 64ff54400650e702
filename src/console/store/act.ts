/** Sends an action once, and says what came of it. */
import { askApi } from "../api/http.ts";
import { type ShownProblem, isUnsure, troubleOf, unsureOf } from "../api/problem.ts";
import type { ConsoleAction } from "../model/commands.ts";
import { requestKeys } from "../model/request-keys.ts";

export type ActionProgress =
  | { readonly kind: "no" }
  | { readonly kind: "sending" }
  | { readonly kind: "accepted"; readonly outcome: Readonly<Record<string, unknown>> }
  | { readonly kind: "refused"; readonly trouble: ShownProblem };

/** The run that an outcome names; empty if there is none. */
export const runIn = ({ run }: Readonly<Record<string, unknown>>): string => (typeof run === "string" ? run : "");

/** `crypto.randomUUID` is missing where the page came over plain HTTP from another machine. */
const random = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const keys = requestKeys(random);

export async function sendAction(action: ConsoleAction): Promise<ActionProgress> {
  const { method, path, body, isKeyed = false } = action;
  try {
    // A POST without a field sends no body at all.
    const given = body === undefined || Object.keys(body).length === 0 ? undefined : body;
    const headers = isKeyed ? { "idempotency-key": keys.keyOf(action) } : {};
    const outcome = await askApi<Readonly<Record<string, unknown>> | null>(path, { method, body: given, headers });
    keys.forget(action);
    return { kind: "accepted", outcome: outcome ?? {} };
  } catch (error) {
    const trouble = troubleOf(error);
    if (isUnsure(trouble)) return { kind: "refused", trouble: unsureOf(trouble, isKeyed) };
    keys.forget(action);
    return { kind: "refused", trouble };
  }
}
