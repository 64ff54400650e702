/**
 * What can be wrong with a store when it is opened or used, besides not being reachable (`StoreUnreachable`, which may pass
 * by itself). Each message says what happened, why, and what to do next.
 */
import type { Foreign, ForeignCode } from "../protocol/foreign.ts";
import { StoreUnreachable } from "./world.ts";

/** There is no store there, or what is there is none of ours. Nothing was touched. */
export class StoreInvalid extends Error {
  override readonly name = "StoreInvalid";
  readonly code = "StoreInvalid";
}

/** Written by a later cairn: this one would misread it, so it does not touch it. */
export class StoreTooNew extends Error {
  override readonly name = "StoreTooNew";
  readonly code = "StoreTooNew";
}

/** Undamaged, and of another cairn than this one. No later version reads it either, and nothing was touched. */
export class StoreForeign extends Error {
  override readonly name = "StoreForeign";
  readonly code: ForeignCode;
  /** What to give this cairn instead: another directory, or another deployment with a table and a bucket of its own. */
  readonly place: "directory" | "deployment";

  /** `what`: the store, table or bucket. */
  constructor(what: string, { code, says, place }: Foreign & Pick<StoreForeign, "place">) {
    super(`${what} ${says}; it was left as it is`);
    this.code = code;
    this.place = place;
  }
}

/**
 * This process has closed the store while its work went on, such as a beat or a request. `cause`: what failed first, if
 * the store was closed within an access. A write that was under way may have been made.
 */
export class StoreClosed extends StoreUnreachable {
  override readonly name = "StoreClosed";
  override readonly code = "StoreClosed";

  /** `place`: where the store is. */
  constructor(place: string, options?: { readonly cause: unknown }) {
    super(
      `the store at ${place} cannot be used: this process has closed it; end what uses the store before you close it, ` +
        "or open it again",
      options,
    );
  }
}

/** The store is not what it was, and does not become so by itself: a supervisor that meets it ends, with its workers. */
export class StoreUnusable extends Error {
  readonly code: StoreFault;

  constructor(code: StoreFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = code;
    this.code = code;
  }
}

/**
 * `StoreDamaged`: something in it is not as it was written. `StoreReplaced`: another store took its place while it was in
 * use. `StoreRolledBack`: it lacks commits that were acknowledged.
 */
export type StoreFault = (typeof STORE_FAULTS)[number];

export const STORE_FAULTS = ["StoreDamaged", "StoreReplaced", "StoreRolledBack"] as const;

/** The `StoreUnusable` that a worker reported; null for any other error. */
export function unusableIn(error: { readonly code: string | null; readonly message: string } | null) {
  const fault = STORE_FAULTS.find((each) => each === error?.code);
  return fault === undefined || error === null ? null : new StoreUnusable(fault, error.message);
}
