/**
 * What an operator has to mend before a run goes on. The kind says it, so nobody reads it from the code of a failure, and
 * the words of all surfaces stand beside it.
 */
export const MENDS = {
  request: { of: "model", says: "the provider of its model refuses what it asks" },
  replies: { of: "model", says: "the replies of its model are cut" },
  code: { of: "code", says: "its code changes functions of the language" },
} as const satisfies Readonly<Record<string, Mended>>;

interface Mended {
  /** What is to mend: the model of an agent, or its code. */
  readonly of: "model" | "code";
  /** Why the run waits, in words. */
  readonly says: string;
}

export type Mends = keyof typeof MENDS;

export const MENDS_NAMES = Object.keys(MENDS) as readonly Mends[];
