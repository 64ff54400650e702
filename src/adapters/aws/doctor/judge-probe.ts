/** Judges one probe of AWS. Every check reports a denied or failed probe in the same way. */
import type { Look } from "./looks.ts";
import { type CheckVerdict, fail, needing, unknown } from "../../../ports/diagnosis.ts";

/**
 * `missing`: what it means that it is not there. `unreachable` is for the one check that says whether a thing is there at
 * all: there a service that refuses or does not answer is a failure, for everybody else it is only unknown.
 */
export function judgeLook<Seen>(
  look: Look<Seen>,
  verdicts: {
    readonly missing: CheckVerdict;
    readonly unreachable?: true;
    readonly seen: (seen: Seen) => CheckVerdict;
  },
): CheckVerdict {
  switch (look.kind) {
    case "seen":
      return verdicts.seen(look.seen);
    case "missing":
      return verdicts.missing;
    case "denied":
      return unknown(
        `this identity may not check this: it needs ${look.action}`,
        `allow ${look.action} to this identity`,
      );
    case "failed":
      return verdicts.unreachable === true ? fail(look.why, look.next) : unknown(look.why, look.next);
    case "untried":
      return needing(look.needs);
  }
}

/** The same for what never is missing. */
export const judgeSeen = <Seen>(look: Look<Seen>, seen: (seen: Seen) => CheckVerdict): CheckVerdict =>
  judgeLook(look, { missing: unknown("AWS gave no answer", "run doctor again"), seen });
