/** Which family shows a rule that is switched off, and by which invariant. */
import type { BOUNDED } from "./instances.ts";
import { BY_STEP, type INVARIANTS, STUCK } from "./invariants.ts";
import type { Mutant } from "./mutants.ts";

type Invariant = keyof typeof INVARIANTS | typeof BY_STEP | typeof STUCK;

export interface Planted {
  readonly family: keyof typeof BOUNDED;
  readonly invariant: Invariant;
}

const ONE_EFFECT = "one effect for each business intent";
const TOLD = "an effect that may have happened is done, or is a question";
const COUNTS_ONCE = "a report counts once, with all that was spent";
const RESERVED = "no run spends more than was reserved";
const LAST = "an end is archived once, at the last";
const STAYS = "a run stays while its parent may need it";
const CANCEL = "a cancel is never lost";
const OWN_TRIES = "a run goes on in place of its end as often as it may, and never twice at the same place";
const BELOW = "nothing works below an end";

export const PLANTED: { readonly [M in Mutant]: Planted } = {
  "make in any epoch": { family: "cancelled", invariant: BELOW },
  "fence in any epoch": { family: "keyed", invariant: BY_STEP },
  "fence without its number": { family: "keyed", invariant: "one decision fences once" },
  "fence keeps the epoch": { family: "keyed", invariant: BY_STEP },
  "fence raises no settle time": { family: "crash", invariant: ONE_EFFECT },
  "fence counts a death": { family: "keyed", invariant: "only a death counts as one" },
  "fence forgets a cancel": { family: "cancelled", invariant: CANCEL },
  "only the number asked for counts": { family: "late", invariant: STUCK },
  "reopen in any epoch": { family: "redriven", invariant: LAST },
  "reopen of a closed child": { family: "keyed", invariant: STAYS },
  "reopen forgets a cancel": { family: "cancelled", invariant: CANCEL },
  "reopen before it is decided": { family: "keyed", invariant: LAST },
  "an end takes a reopened child for ended": { family: "redriven", invariant: LAST },
  "report without its number": { family: "late", invariant: STUCK },
  "a reopen forgets what was reported": { family: "cancelled", invariant: TOLD },
  "each report debits everything": { family: "late", invariant: COUNTS_ONCE },
  "an answer frees what is reserved": { family: "budget", invariant: RESERVED },
  "more than is free": { family: "budget", invariant: RESERVED },
  "grant is added where it lands": { family: "poor", invariant: RESERVED },
  "a child closes itself": { family: "keyed", invariant: STAYS },
  "a child is closed before it is judged": { family: "keyed", invariant: STAYS },
  "a forced end closes no child": { family: "loops", invariant: STUCK },
  "a child is redriven": { family: "redriven", invariant: BY_STEP },
  "the number in the key": { family: "crash", invariant: ONE_EFFECT },
  "an unsafe call is repeated": { family: "crashes", invariant: ONE_EFFECT },
  "a probe before the settle time": { family: "crash", invariant: ONE_EFFECT },
  "another try is not counted": { family: "goesOn", invariant: OWN_TRIES },
  "another try at the same place": { family: "loopsOn", invariant: OWN_TRIES },
  "another try raises the grant": { family: "poorOn", invariant: RESERVED },
  "another try forgets a cancel": { family: "cancelledOn", invariant: CANCEL },
  "another try forgets its call": { family: "goesOn", invariant: ONE_EFFECT },
};
