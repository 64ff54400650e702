/** The version of cairn, which its servers tell their clients. */
import { createRequire } from "node:module";

const { version } = createRequire(import.meta.url)("#package") as { readonly version: string };

export const VERSION = version;
