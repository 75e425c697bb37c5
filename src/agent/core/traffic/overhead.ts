// Headers of IPv4 and TCP with timestamps; IPv6 takes 20 more.
const HEADER_BYTES = 52;

/** What of a segment is payload, on a path with the usual 1500 bytes. */
const SEGMENT_BYTES = 1_448;

/** Segments to set up and take down a TCP connection: three each way at least, all without payload. */
const CONNECTION_SEGMENTS = 7;

/**
 * What TCP and IP add to payload, in bytes of both directions: an estimate, since only the kernel sees segments. Each
 * message is a segment with an acknowledgement of its own; in a long transfer every second segment is acknowledged.
 *
 * @param messages how many pieces the bytes went in that stood by themselves; 0 for a stream
 */
export function estimateOverhead(bytes: number, messages: number): number {
  const segments = Math.max(messages, bytes / SEGMENT_BYTES);
  const acknowledgements = Math.max(messages, bytes / SEGMENT_BYTES / 2);
  return HEADER_BYTES * (segments + acknowledgements);
}

/** What a connection costs beside all that goes over it. An estimate likewise. */
export const CONNECTION_OVERHEAD_BYTES = CONNECTION_SEGMENTS * HEADER_BYTES;
