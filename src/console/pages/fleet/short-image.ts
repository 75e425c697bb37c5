const DIGEST = /@sha256:([0-9a-f]{64})$/;
const SHOWN_DIGITS = 12;

/** Formats the image of a revision: as it was written, with the first digits of its digest. */
export function formatImage(written: string, image: string | null): string {
  const digest = image === null ? undefined : DIGEST.exec(image)?.[1];
  if (digest === undefined) return written;
  return `${written.replace(DIGEST, "")} (${digest.slice(0, SHOWN_DIGITS)})`;
}
