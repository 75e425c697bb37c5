import type { Extract } from "tar-stream";

/** Longest extended header of an entry: a path, and extended attributes of up to 64 KiB each. */
const MAX_EXTENDED_HEADER_BYTES = 256 * 1024;

/** The method of tar-stream that parses an extended header. */
interface Internals {
  _decodeLongHeader(header: Uint8Array): void;
}

/**
 * Has tar-stream's parser refuse longer extended headers than tools write. It takes up to 4 MiB itself, and parses them byte by
 * byte, in one go.
 */
export function boundHeaders(entries: Extract): Extract {
  const internals = entries as unknown as Internals;
  const decode = internals._decodeLongHeader.bind(entries);
  internals._decodeLongHeader = (header) => {
    if (header.length > MAX_EXTENDED_HEADER_BYTES) {
      throw new Error(`an extended header in the archive has more than ${MAX_EXTENDED_HEADER_BYTES} bytes`);
    }
    decode(header);
  };
  return entries;
}
