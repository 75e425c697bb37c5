// Headers of IPv4 and TCP with timestamps; IPv6 adds 20 bytes.
const HEADER_BYTES = 52;

/** Payload of a segment on a path with an MTU of 1500 bytes. */
const SEGMENT_BYTES = 1_448;

/** Segments without payload that set up and close a TCP connection. */
const CONNECTION_SEGMENTS = 7;

/**
 * Estimates the bytes that TCP and IP add to a payload, in both directions; only the kernel sees segments. Each message
 * is a segment with its own acknowledgement; in a long transfer every second segment is acknowledged.
 *
 * @param messages number of separate messages the bytes were sent in; 0 for a stream
 */
export function estimateOverhead(bytes: number, messages: number): number {
  const segments = Math.max(messages, bytes / SEGMENT_BYTES);
  const acknowledgements = Math.max(messages, bytes / SEGMENT_BYTES / 2);
  return HEADER_BYTES * (segments + acknowledgements);
}

/** Estimated bytes of a connection's setup and close. */
export const CONNECTION_OVERHEAD_BYTES = CONNECTION_SEGMENTS * HEADER_BYTES;
