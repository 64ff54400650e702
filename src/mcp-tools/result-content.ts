/** The result of an MCP call as the result of a tool: JSON, text, and files for images, audio and binary resources. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { sentenceOf } from "../codec/value.ts";
import { type ToolFile, toolFile } from "../sdk/file.ts";

type Content = CallToolResult["content"][number];

/**
 * The structured content if there is any, otherwise the text. With files or links it is an object: `text` or `structured`,
 * with `files` and `links`. The text beside structured content says the same again, as the protocol demands, and is left out.
 * Structured content with `links` of its own is `structured`, too: a server may pass on there what a page said, and that
 * is no link (`engine/tools/run-tools.ts`).
 */
export function valueOf(result: CallToolResult): unknown {
  const parts = result.content.map(partOf);
  const files = parts.flatMap(({ file }) => file ?? []);
  const text = joined(parts);
  const { structuredContent: structured } = result;
  const links = result.content.flatMap((each) =>
    each.type === "resource_link" ? [{ name: each.name, uri: each.uri }] : [],
  );
  const kept: { files?: typeof files; links?: typeof links } = {};
  if (files.length > 0) kept.files = files;
  if (links.length > 0) kept.links = links;
  if (Object.keys(kept).length === 0 && !Object.hasOwn(structured ?? {}, "links")) return structured ?? text;
  return { ...(structured === undefined ? { text } : { structured }), ...kept };
}

export const resultAsText = (result: CallToolResult): string => joined(result.content.map(partOf));

const joined = (parts: readonly Part[]): string => parts.flatMap(({ text }) => text ?? []).join("\n");

interface Part {
  readonly text?: string;
  readonly file?: ToolFile;
}

function partOf(content: Content): Part {
  switch (content.type) {
    case "text":
      return { text: content.text };
    case "image":
    case "audio":
      return fileOf(content.data, { mediaType: content.mimeType });
    case "resource": {
      const { resource } = content;
      const { uri, mimeType } = resource;
      if ("text" in resource) return { text: resource.text };
      return fileOf(resource.blob, { name: nameIn(uri), ...(mimeType !== undefined && { mediaType: mimeType }) });
    }
    case "resource_link":
      return {};
  }
}

/** A file that a run cannot keep is named in the text, and the call has succeeded nevertheless. */
function fileOf(base64: string, named: { readonly mediaType?: string; readonly name?: string }): Part {
  try {
    return { file: toolFile(Buffer.from(base64, "base64"), named) };
  } catch (error) {
    return { text: `[a file of type ${named.mediaType ?? "unknown"} was left out: ${sentenceOf(error)}]` };
  }
}

/** The last part of the address. */
const nameIn = (uri: string): string => uri.split(/[/?#]/).findLast((part) => part !== "") ?? "file";
