/** The arguments of what waits for a human. The list leaves out long ones, so they are read from the run. */
import type { WaitingGate, WaitingQuestion } from "../../operations/approvals.ts";
import type { ShownParse } from "../../operations/views.ts";
import { askApi } from "../api/http.ts";
import { pathOf } from "../model/commands.ts";
import { type ShownDocument, argsIn } from "../model/needs.ts";
import { useRead } from "./use-read.ts";

export type ArgsRead =
  | { readonly kind: "known"; readonly args: unknown; readonly parsed: ShownParse | null }
  | { readonly kind: "reading" }
  /** They are not known here. Nothing may be built on them. */
  | { readonly kind: "unread"; readonly why: string };

export const TOO_LONG: ArgsRead = { kind: "unread", why: "they are too long for an answer of the API." };

export function useArgs(waiting: WaitingGate | WaitingQuestion): ArgsRead {
  const { run, args, omitted } = waiting;
  const isOmitted = omitted !== undefined;
  const read = (signal: AbortSignal) => askApi<ShownDocument>(pathOf("show", { run }), { signal });
  const { value, trouble } = useRead(isOmitted ? read : null, [run, isOmitted]);
  if (!isOmitted) return { kind: "known", args, parsed: "parsed" in waiting ? waiting.parsed : null };
  if (value === null) return trouble === null ? { kind: "reading" } : { kind: "unread", why: trouble.detail };
  const found = argsIn(waiting, value);
  return found === null ? TOO_LONG : { kind: "known", ...found };
}
