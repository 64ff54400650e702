/** The arguments of what waits for a human. The list leaves out long ones, so they are read from the run. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { WaitingGate, WaitingQuestion } from "../../operations/approvals.ts";
import { ask } from "../api/http.ts";
import { troubleOf } from "../api/problem.ts";
import { runPath } from "../model/commands.ts";
import { type RunDocument, argsIn } from "../model/needs.ts";

export type ArgsRead =
  | { readonly kind: "known"; readonly args: unknown }
  | { readonly kind: "reading" }
  /** They are not known here. Nothing may be built on them. */
  | { readonly kind: "unread"; readonly why: string };

export const TOO_LONG: ArgsRead = { kind: "unread", why: "they are too long for an answer of the API." };

export function useArgs(of: WaitingGate | WaitingQuestion): ArgsRead {
  const { run, args, omitted } = of;
  const read = useSignal<ArgsRead>({ kind: "reading" });
  const isOmitted = omitted !== undefined;
  useEffect(() => {
    if (!isOmitted) return;
    ask<RunDocument>(runPath(run))
      .then((document) => {
        const found = argsIn(of, document);
        read.value = found === null ? TOO_LONG : { kind: "known", ...found };
      })
      .catch((error: unknown) => (read.value = { kind: "unread", why: troubleOf(error).detail }));
  }, [run, isOmitted]);
  return isOmitted ? read.value : { kind: "known", args };
}
