import { SocketAddress } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseProcNet } from "../../../../../src/agent/core/host/proc-net.ts";

const HEADING =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                     ";

test("only listening sockets are read", () => {
  const text = [
    HEADING,
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0",
    "   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 22 1 0000000000000000 100 0 0 10 0",
    "   2: 0100007F:1F90 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0000000000000000 20 4 30 10 -1",
    "",
  ].join("\n");
  expect(parseProcNet(text, "tcp")).toEqual([
    { address: "127.0.0.1", port: 8080, protocol: "tcp", uid: 1000, inode: 4711 },
    { address: "0.0.0.0", port: 22, protocol: "tcp", uid: 0, inode: 22 },
  ]);
});

const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, "0");

/** A line as the kernel would print it. */
function kernelLine(bytes: Uint8Array, port: number, state: number, uid: number, inode: number): string {
  let address = "";
  for (let at = 0; at < bytes.length; at += 4) {
    address += hex(new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true), 8);
  }
  const remote = `${"0".repeat(bytes.length * 2)}:0000`;
  return `  12: ${address}:${hex(port, 4)} ${remote} ${hex(state, 2)} 00000000:00000000 00:00000000 00000000 ${uid} 0 ${inode} 1 0`;
}

const addressBytes = fc.oneof(
  fc.uint8Array({ minLength: 4, maxLength: 4 }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
  // Mostly zeros, where writing an IPv6 address has its rules.
  fc.array(fc.constantFrom(0, 0, 0, 1), { minLength: 16, maxLength: 16 }).map((list) => Uint8Array.from(list)),
);

test("every socket the kernel can print is read back", () => {
  const port = fc.integer({ min: 1, max: 65_535 });
  const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  fc.assert(
    fc.property(addressBytes, port, number, number, (bytes, port, uid, inode) => {
      const [found, ...others] = parseProcNet(`${HEADING}\n${kernelLine(bytes, port, 0x0a, uid, inode)}\n`, "tcp");
      expect(others).toEqual([]);
      expect(found).toMatchObject({ port, uid, inode });
      const family = bytes.length === 4 ? "ipv4" : "ipv6";
      const canonical = (address: string): string => new SocketAddress({ address, family }).address;
      const groups = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      const plain = family === "ipv4" ? bytes.join(".") : (groups.match(/.{4}/g) ?? []).join(":");
      expect(canonical(found?.address ?? "")).toBe(canonical(plain));
    }),
  );
});

test("sockets in any other state are left out", () => {
  const other = fc.integer({ min: 0, max: 255 }).filter((state) => state !== 0x0a);
  fc.assert(
    fc.property(addressBytes, other, (bytes, state) => {
      expect(parseProcNet(kernelLine(bytes, 80, state, 0, 1), "tcp")).toEqual([]);
    }),
  );
});

test("other text is ignored", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(parseProcNet(text, "tcp")).toEqual([]);
    }),
  );
});

test("UDP sockets are read only if they are not connected to a peer", () => {
  const waiting = kernelLine(Uint8Array.of(0, 0, 0, 0), 30_053, 7, 0, 1);
  const talking = kernelLine(Uint8Array.of(127, 0, 0, 1), 40_000, 1, 0, 2);
  expect(parseProcNet(`${HEADING}\n${waiting}\n${talking}\n`, "udp")).toEqual([
    { address: "0.0.0.0", port: 30_053, protocol: "udp", uid: 0, inode: 1 },
  ]);
});
