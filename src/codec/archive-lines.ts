/** The lines of an archive with large values, files and states, which only exports and long runs have. */
import type { State } from "../core/state.ts";
import { canonical } from "./canonical.ts";
import type { StateMark } from "./mark.ts";

/** `text` is the blob's canonical JSON. It may have megabytes, so it is not serialized again. */
export const blobLine = (sha256: string, text: string): string => `{"json":${text},"kind":"blob","sha256":"${sha256}"}`;
export const fileLine = (file: string, bytes: Uint8Array): string =>
  `{"base64":"${Buffer.from(bytes).toString("base64")}","file":"${file}","kind":"file"}`;
/** The initial state with its whole transcript inline, so that the file references no segment. */
export const begunLine = ({ messages: tail, ...state }: State): string =>
  canonical({ kind: "begun", state: { ...state, manifest: [], tail } });
export const markLine = (mark: StateMark): string => canonical({ kind: "mark", mark });
