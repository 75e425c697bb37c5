// Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
export const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The lowest bit says whether checksums are of big-endian words. */
const MAGIC = 0x37_7f_06_82;

type Checksum = readonly [number, number];

/**
 * Returns a database with the committed transactions of its write-ahead log applied, as SQLite reads it after a crash: the
 * log ends at its first frame that is torn or of an earlier log. The result may be `database` itself, changed.
 *
 * @param wal empty or damaged in its header if there is no log
 */
export function applyWal(database: Buffer, wal: Buffer): Buffer {
  const header = readHeader(wal);
  if (!header) return database;
  const { pageSize } = header;
  const { pages, pageCount } = readCommitted(wal, header);
  if (pageCount === 0) return database;
  const length = pageCount * pageSize;
  const image = database.length >= length ? database.subarray(0, length) : Buffer.concat([database], length);
  for (const [page, at] of pages) if (page <= pageCount) wal.copy(image, (page - 1) * pageSize, at, at + pageSize);
  return image;
}

interface WalHeader {
  readonly pageSize: number;
  readonly isBigEndian: boolean;
  readonly salt: Buffer;
  readonly checksum: Checksum;
}

function readHeader(wal: Buffer): WalHeader | undefined {
  if (wal.length < WAL_HEADER_BYTES) return undefined;
  const magic = wal.readUInt32BE(0);
  if ((magic & ~1) !== MAGIC) return undefined;
  const isBigEndian = (magic & 1) === 1;
  const checksum = addWords([0, 0], wal.subarray(0, 24), isBigEndian);
  if (!isEqual(checksum, wal, 24)) return undefined;
  const pageSize = wal.readUInt32BE(8);
  if (pageSize < 512 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) return undefined;
  return { pageSize, isBigEndian, salt: wal.subarray(16, 24), checksum };
}

interface Committed {
  /** Where the last content of each page is in the log. */
  readonly pages: ReadonlyMap<number, number>;
  /** Size of the database in pages after the last commit; 0 if there is none. */
  readonly pageCount: number;
}

function readCommitted(wal: Buffer, { pageSize, isBigEndian, salt, checksum: first }: WalHeader): Committed {
  const pages = new Map<number, number>();
  let transaction: [page: number, at: number][] = [];
  let pageCount = 0;
  let checksum = first;
  const frameBytes = FRAME_HEADER_BYTES + pageSize;
  for (let at = WAL_HEADER_BYTES; at + frameBytes <= wal.length; at += frameBytes) {
    const frame = wal.subarray(at, at + frameBytes);
    if (!frame.subarray(8, 16).equals(salt)) break;
    checksum = addWords(checksum, frame.subarray(0, 8), isBigEndian);
    checksum = addWords(checksum, frame.subarray(FRAME_HEADER_BYTES), isBigEndian);
    if (!isEqual(checksum, frame, 16)) break;
    transaction.push([frame.readUInt32BE(0), at + FRAME_HEADER_BYTES]);
    const sizeAfter = frame.readUInt32BE(4);
    if (sizeAfter === 0) continue;
    for (const [page, where] of transaction) pages.set(page, where);
    transaction = [];
    pageCount = sizeAfter;
  }
  return { pages, pageCount };
}

function addWords([first, second]: Checksum, bytes: Buffer, isBigEndian: boolean): Checksum {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let [a, b] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + words.getUint32(at, !isBigEndian) + b) >>> 0;
    b = (b + words.getUint32(at + 4, !isBigEndian) + a) >>> 0;
  }
  return [a, b];
}

function isEqual([a, b]: Checksum, bytes: Buffer, at: number): boolean {
  return bytes.readUInt32BE(at) === a && bytes.readUInt32BE(at + 4) === b;
}
