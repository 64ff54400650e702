/** Files that a tool returns: a screenshot, a report, an invoice. */
import * as z from "zod";
import { FILE, type GivenFile, fileContent } from "../codec/file.ts";

/** A file in the result of a tool. It may stand anywhere in the result. */
export class ToolFile {
  readonly #given: GivenFile;

  constructor(given: GivenFile) {
    this.#given = given;
  }

  get [FILE](): GivenFile {
    return this.#given;
  }
}

/**
 * A file that a tool returns, anywhere in its result. The run keeps the bytes as an object beside it; the model gets the
 * file, and the result holds a reference `{ file, mediaType, bytes, name }` in its place.
 *
 * @example
 *   run: async ({ input }) => ({ title: "Start", shot: toolFile(await page.screenshot(), { name: "start.png" }) });
 *
 * @throws TypeError if it is empty, too large, or not what its media type says
 */
export function toolFile(bytes: Uint8Array, { name, mediaType }: Omit<GivenFile, "bytes"> = {}): ToolFile {
  const parsed = fileContent({ bytes, name, mediaType });
  if (!parsed.ok) throw new TypeError(parsed.why);
  const { ref, bytes: copy } = parsed.content;
  return new ToolFile({ bytes: copy, name: ref.name, mediaType: ref.mediaType });
}

/** The schema of a file, for the `output` of a tool. */
export const fileSchema: z.ZodType<ToolFile> = z.custom<ToolFile>(
  (value) => typeof value === "object" && value !== null && FILE in value,
  "a file, as toolFile() makes it",
);
