/**
 * Pages as the package has them, for readers who have the package and no checkout.
 *
 * - What stands between `<!-- checkout:begin -->` and `<!-- checkout:end -->` is left out, such as the scripts of the
 *   repository. What stands in a comment `<!-- package … -->` is shown in its place.
 * - The package holds few of the files that a page links to. A link to another file leads to the repository, or,
 *   without an address of one, becomes plain text. Otherwise a reader follows it nowhere. Pictures likewise.
 */
import { posix } from "node:path";

interface Where {
  /** The path of the page; by default that of the README. */
  readonly page?: string;
  /** Whether the package has this file. */
  readonly has: (path: string) => boolean;
  /** The field `repository` of package.json. */
  readonly repository?: unknown;
}

const CHECKOUT = /<!-- checkout:begin -->\n[^]*?<!-- checkout:end -->\n/g;
const PACKAGE = /<!-- package\n([^]*?)-->\n/g;
/** The text of a link may be a picture. */
const LINK = /(!?)\[((?:!\[[^[\]]*\]\([^)]*\)|[^[\]])*)\]\(([^)\s]+)\)/g;
const PICTURE = /<picture>[^]*?<\/picture>/g;
const SOURCE = /(src|srcset)="([^"]+)"/g;
const FENCE = /(^```[^]*?^```$)/m;

/** The text with each link led elsewhere; null: it becomes plain text. */
export function withLinks(text: string, lead: (target: string, image: boolean) => string | null): string {
  return text.replaceAll(LINK, (_link: string, image: string, label: string, target: string) => {
    const shown = withLinks(label, lead);
    const to = lead(target, image !== "");
    return to === null ? shown : `${image}[${shown}](${to})`;
  });
}

export function packedReadme(text: string, { page = "README.md", has, repository }: Where): string {
  const address = addressOf(repository);
  const fileOf = (target: string): string => posix.join(posix.dirname(page), target);
  const stays = (path: string): boolean => path === "" || /^[a-z]+:/.test(path) || has(fileOf(path));
  const lead = (target: string, image: boolean): string | null => {
    if (stays(target.split("#")[0] ?? "")) return target;
    return address === null ? null : `${address}/${image ? "raw" : "blob"}/HEAD/${fileOf(target)}`;
  };
  const relinked = (prose: string): string =>
    withLinks(prose, lead).replaceAll(PICTURE, (picture: string) => {
      const paths = [...picture.matchAll(SOURCE)].map(([, , path = ""]) => path);
      if (paths.every(stays)) return picture;
      if (address === null) return /alt="([^"]*)"/.exec(picture)?.[1] ?? "";
      return picture.replaceAll(SOURCE, (source: string, name: string, path: string) =>
        stays(path) ? source : `${name}="${address}/raw/HEAD/${fileOf(path)}"`,
      );
    });
  return text
    .replaceAll(CHECKOUT, "")
    .replaceAll(PACKAGE, "$1")
    .split(FENCE)
    .map((part) => (part.startsWith("```") ? part : relinked(part)))
    .join("");
}

/** Where a browser finds the repository; null if package.json names none. */
export function addressOf(repository: unknown): string | null {
  const named =
    typeof repository === "object" && repository !== null && "url" in repository ? repository.url : repository;
  if (typeof named !== "string") return null;
  const url = named.replace(/^git\+/, "").replace(/\.git$/, "");
  if (url.startsWith("https://")) return url;
  const [, path] = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(url) ?? [];
  return path === undefined ? null : `https://github.com/${path}`;
}
