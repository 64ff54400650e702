/** The version of cairn, which its servers tell their clients. */
import { createRequire } from "node:module";

/** Read on use: a deployed function has no package of cairn, and may import what serves. */
export const ownVersion = (): string =>
  (createRequire(import.meta.url)("#package") as { readonly version: string }).version;
