/**
 * Text of a model or a tool, as a human has to read it. A control character is invisible, and one that reverses the
 * direction of writing shows other words than those that count, for example in arguments that wait for approval.
 */
import { visible } from "../../render/words.ts";

/** The text with such characters as escapes, as the command line shows them. Its lines stay lines. */
export const visibleText = (text: string): string => text.split(/\r?\n/).map(visible).join("\n");

/** JSON to read and to edit: an escape means the same character. */
export const jsonText = (json: unknown): string => visibleText(JSON.stringify(json, null, 2) ?? "");

/** A text, or JSON on one line that a narrow page may break between its parts: its strings have no line breaks. */
export const jsonLine = (json: unknown): string =>
  typeof json === "string"
    ? json
    : (JSON.stringify(json, null, 1) ?? "").replaceAll(
        /([{[])\n *|\n *([}\]])|\n */g,
        (_, opens?: string, closes?: string) => opens ?? closes ?? " ",
      );
