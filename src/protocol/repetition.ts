/**
 * What a message is whose id was delivered before: the same message once more, or another one that would be lost under
 * that id. A sender that numbers its messages anew after a restart would otherwise be told that each was delivered.
 */

/**
 * `kept`, `given`: digests of the text as its sender gave it; null where there is none. Without both digests a retry cannot
 * be told from another text, and a retry must never be refused.
 */
export const repetition = (kept: string | null, given: string | null): "duplicate" | "conflict" =>
  kept === null || given === null || kept === given ? "duplicate" : "conflict";
