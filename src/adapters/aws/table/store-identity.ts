/**
 * What a table and a bucket say of the store that they belong to: its ID, and the fingerprint of its stored forms
 * (`protocol/fingerprint.ts`). Both are read together, so a refusal costs no request of its own.
 */
import { StoreForeign } from "../../../ports/store-errors.ts";
import { FINGERPRINT } from "../../../protocol/fingerprint.ts";
import { BEFORE_RELEASE, type Foreign, OTHER_SCHEMAS } from "../../../protocol/foreign.ts";

/** What a table or a bucket says of its store: its ID, and why this cairn does not read it. */
export interface StoreIdentity {
  readonly id: string;
  readonly foreign: Foreign | null;
}

/** The ID and the fingerprint, as the object of a bucket holds them. */
export const identityText = (id: string): string => `${id}\n${FINGERPRINT}`;

export function identityIn(text: string): StoreIdentity {
  const [id = "", forms] = text.split("\n");
  return storeIdentityOf(id, forms);
}

/** `forms`: the fingerprint. A store from before the first release has none. */
export function storeIdentityOf(id: string, forms: string | undefined): StoreIdentity {
  if (forms === undefined) return { id, foreign: BEFORE_RELEASE };
  return { id, foreign: forms === FINGERPRINT ? null : OTHER_SCHEMAS };
}

/** The ID. Throws `StoreForeign`. `what`: the table or bucket. */
export function ownId(what: string, { id, foreign }: StoreIdentity): string {
  if (foreign !== null) throw new StoreForeign(what, { ...foreign, place: "deployment" });
  return id;
}
