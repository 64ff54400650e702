/**
 * The README as the package has it, for readers who have the package and no checkout.
 *
 * - What stands between `<!-- checkout:begin -->` and `<!-- checkout:end -->` is left out, such as the scripts of the
 *   repository. What stands in a comment `<!-- package … -->` is shown in its place.
 * - The package holds few of the files that the README links to. A link to another file leads to the repository, or,
 *   without an address of one, becomes plain text. Otherwise a reader follows it nowhere. Pictures likewise.
 */

interface Where {
  /** Whether the package has this file. */
  readonly has: (path: string) => boolean;
  /** The field `repository` of package.json. */
  readonly repository?: unknown;
}

const CHECKOUT = /<!-- checkout:begin -->\n[^]*?<!-- checkout:end -->\n/g;
const PACKAGE = /<!-- package\n([^]*?)-->\n/g;
const LINK = /(!?)\[([^[\]]+)\]\(([^)\s]+)\)/g;
const PICTURE = /<picture>[^]*?<\/picture>/g;
const SOURCE = /(src|srcset)="([^"]+)"/g;
const FENCE = /(^```[^]*?^```$)/m;

export function packedReadme(text: string, { has, repository }: Where): string {
  const address = addressOf(repository);
  const stays = (path: string): boolean => path === "" || /^[a-z]+:/.test(path) || has(path);
  const relinked = (prose: string): string =>
    prose
      .replaceAll(LINK, (link: string, image: string, label: string, target: string) => {
        if (stays(target.split("#")[0] ?? "")) return link;
        return address === null
          ? label
          : `${image}[${label}](${address}/${image === "" ? "blob" : "raw"}/HEAD/${target})`;
      })
      .replaceAll(PICTURE, (picture: string) => {
        const paths = [...picture.matchAll(SOURCE)].map(([, , path = ""]) => path);
        if (paths.every(stays)) return picture;
        if (address === null) return /alt="([^"]*)"/.exec(picture)?.[1] ?? "";
        return picture.replaceAll(SOURCE, (source: string, name: string, path: string) =>
          stays(path) ? source : `${name}="${address}/raw/HEAD/${path}"`,
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
function addressOf(repository: unknown): string | null {
  const named =
    typeof repository === "object" && repository !== null && "url" in repository ? repository.url : repository;
  if (typeof named !== "string") return null;
  const url = named.replace(/^git\+/, "").replace(/\.git$/, "");
  if (url.startsWith("https://")) return url;
  const [, path] = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(url) ?? [];
  return path === undefined ? null : `https://github.com/${path}`;
}
