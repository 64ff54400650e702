/**
 * Judges a message whose ID was delivered before: the same message again, or another one that would be lost under that
 * ID. A sender that numbers its messages from the start after a restart would otherwise believe that each was
 * delivered.
 *
 * `kept` and `given` are digests of the text as its sender gave it, or null. Without both digests a retry looks like
 * any other text, and a retry must never be refused; so the answer is `duplicate`.
 */
export const repetition = (kept: string | null, given: string | null): "duplicate" | "conflict" =>
  kept === null || given === null || kept === given ? "duplicate" : "conflict";
