const WINDOW_BYTES = 64;
const CHAR_OFFSET = 31;
/** A cut is where these bits are all set: every 64 KiB on average. */
const CUT_MASK = 0xff_ff;

/**
 * Where containers/storage cuts a file into chunks when it writes zstd:chunked: by the rolling sum of bup, without a least or
 * largest size. Returns the ends of the chunks, the file's own end last.
 */
export function rollingCuts(bytes: Uint8Array): number[] {
  const ends: number[] = [];
  let [sum, weighted] = [WINDOW_BYTES * CHAR_OFFSET, WINDOW_BYTES * (WINDOW_BYTES - 1) * CHAR_OFFSET];
  for (let at = 0; at < bytes.length; at++) {
    const gone = at < WINDOW_BYTES ? 0 : (bytes[at - WINDOW_BYTES] as number);
    sum = (sum + (bytes[at] as number) - gone) | 0;
    weighted = (weighted + sum - WINDOW_BYTES * (gone + CHAR_OFFSET)) | 0;
    if ((weighted & CUT_MASK) === CUT_MASK) ends.push(at + 1);
  }
  if (bytes.length > 0 && ends.at(-1) !== bytes.length) ends.push(bytes.length);
  return ends;
}
