/** The two files beside the folders of the releases: where the site begins, and which releases it has. */

interface Pages {
  /** Leads to the newest release. */
  readonly index: string;
  readonly list: string;
}

/** Orders versions as numbers, the newest first. A version before a release, such as `1.0.0-rc.1`, is older than it. */
export function newestFirst(versions: readonly string[]): readonly string[] {
  const key = (version: string): string =>
    (version.includes("-") ? version : `${version}~`).replaceAll(/\d+/g, (digits) => digits.padStart(9, "0"));
  return versions.toSorted((a, b) => (key(a) < key(b) ? 1 : -1));
}

export function releasesPage(versions: readonly string[]): Pages {
  const [newest = "", ...older] = newestFirst(versions);
  const items = [newest, ...older].map((version) => `<li><a href="./${version}/">${version}</a></li>`).join("\n");
  return {
    index: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=./${newest}/">
<title>cairn</title>
<a href="./${newest}/">cairn ${newest}</a>
</html>
`,
    list: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Releases of cairn</title>
<style>body { font: 16px/1.6 system-ui, sans-serif; max-width: 40em; margin: 3em auto; padding: 0 1em; }</style>
<h1>Releases of cairn</h1>
<p>The pages of each release describe that release. The newest is ${newest}.</p>
<ul>
${items}
</ul>
</html>
`,
  };
}
