import type { Image } from "../image.ts";
import { buildAppImage, ownDirectory } from "./debian-app.ts";

const USER = { name: "postgres", uid: 999 };
const DATA = "/var/lib/postgresql/data";

const PACKAGES = [
  "postgresql-15",
  "postgresql-client-15",
  "libaudit1",
  "libc6",
  "libcap-ng0",
  "libcap2",
  "libcom-err2",
  "libffi8",
  "libgcc-s1",
  "libgcrypt20",
  "libgmp10",
  "libgnutls30",
  "libgpg-error0",
  "libgssapi-krb5-2",
  "libhogweed6",
  "libicu72",
  "libidn2-0",
  "libk5crypto3",
  "libkeyutils1",
  "libkrb5-3",
  "libkrb5support0",
  "libldap-2.5-0",
  "liblz4-1",
  "liblzma5",
  "libnettle8",
  "libp11-kit0",
  "libpam0g",
  "libpq5",
  "libreadline8",
  "libsasl2-2",
  "libssl3",
  "libstdc++6",
  "libsystemd0",
  "libtasn1-6",
  "libtinfo6",
  "libunistring2",
  "libxml2",
  "libzstd1",
  "tzdata",
  "zlib1g",
];

/** Compiled at run time only with LLVM, which is not in the image. */
const LEFT_OUT = /^usr\/lib\/postgresql\/15\/lib\/(bitcode|llvmjit)/;

const START = `#!/bin/sh
set -e
if [ -n "$POSTGRES_PASSWORD_FILE" ]; then POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE"); fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "$POSTGRES_PASSWORD" ]; then
    echo "Error: the database is not initialized, and POSTGRES_PASSWORD is not set." >&2
    exit 1
  fi
  (umask 077 && printf '%s\\n' "$POSTGRES_PASSWORD" > /tmp/password)
  initdb -U "\${POSTGRES_USER:-postgres}" --pwfile=/tmp/password --auth-host=scram-sha-256 --auth-local=trust --locale=C --encoding=UTF8
  rm /tmp/password
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  if [ -n "$POSTGRES_DB" ]; then
    printf 'CREATE DATABASE "%s";\\n' "$POSTGRES_DB" | postgres --single -D "$PGDATA" postgres
  fi
fi
exec postgres -c listen_addresses='*' "$@"
`;

/**
 * Debian's PostgreSQL 15, used as the image `postgres`: `POSTGRES_USER`, `POSTGRES_PASSWORD` or
 * `POSTGRES_PASSWORD_FILE`, `POSTGRES_DB` and `PGDATA`. Initializes an empty data directory at its first start.
 */
export function postgresqlImage(): Promise<Image> {
  return buildAppImage({
    user: USER,
    packages: PACKAGES,
    leftOut: LEFT_OUT,
    files: [
      { path: "usr/local/bin/start-postgresql", content: START, mode: 0o755 },
      ownDirectory(USER, "var/run/postgresql"),
      ownDirectory(USER, "var/lib/postgresql"),
      ownDirectory(USER, DATA.slice(1), 0o700),
    ],
    config: {
      Entrypoint: ["/usr/local/bin/start-postgresql"],
      Env: ["PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin", `PGDATA=${DATA}`, "LC_ALL=C"],
      ExposedPorts: { "5432/tcp": {} },
      // Finishes transactions of connections that are open.
      StopSignal: "SIGINT",
      Volumes: { [DATA]: {} },
    },
  });
}
