/** The anchor of a heading, as GitHub makes it: a link has the same anchor in the checkout and in the site. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
