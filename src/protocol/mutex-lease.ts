/**
 * Turns: what one process at a time does, such as the sweep. Two of them at once would hand over the same run to each
 * other and fence each other's end of it for ever (schedule 46). Only time keeps them apart: the epoch gives safety.
 */
/** Whose turn it is at something that one process at a time does, and how far the last one got. */
export interface Turn {
  readonly name: string;
  readonly owner: string;
  /** Lapses by itself then; giving it up is taking it until now. */
  readonly until: number;
  /** Kept for whoever takes it next; absent leaves what is there. */
  readonly cursor?: string | null;
  /**
   * It goes on: refused once anybody else took it, lapsed or not. What a process leaves that was overtaken must not stand
   * over what came after it.
   */
  readonly again?: true;
  readonly now: number;
}

export type TurnOutcome =
  /** `cursor`: what the last owner left. */
  | { readonly kind: "taken"; readonly cursor: string | null }
  /** It is somebody else's, or was it meanwhile. */
  | { readonly kind: "held"; readonly until: number };

/** `before`: the last turn that was taken under this name, or null. The outcome `taken` makes `turnLeft` the last one. */
export function turnTaken(before: Turn | null, turn: Turn): TurnOutcome {
  const isAnothers = before !== null && before.owner !== turn.owner && turn.now < before.until;
  const isOver = turn.again === true && before?.owner !== turn.owner;
  if (isAnothers || isOver) return { kind: "held", until: before?.until ?? turn.now };
  return { kind: "taken", cursor: before?.cursor ?? null };
}

/** What is stored of a turn that is taken. */
export function turnLeft(before: Turn | null, { name, owner, until, cursor, now }: Turn): Turn {
  return { name, owner, until, cursor: cursor === undefined ? (before?.cursor ?? null) : cursor, now };
}
