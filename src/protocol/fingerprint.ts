/**
 * The fingerprint of all stored forms. Until version 0.1.0 they change under one format number, so each store, table,
 * bucket, archive and row carries it, and one with another fingerprint is refused by name.
 *
 * It is a constant, so that no process computes it. `test/golden/stored-forms.ts` does, and `npm run golden` writes it.
 */
export const FINGERPRINT = "b854d1ab";
