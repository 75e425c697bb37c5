/** How to reach the database. Files are read again for each connection, so that they can be replaced. */
export interface PostgresOptions {
  /** Host name or address, or the directory of a socket. A name is resolved for each connection. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly passwordFile?: string | undefined;
  /** `undefined`: without TLS. */
  readonly tls?: PostgresTls | undefined;
  /** Maximum number of connections. Default `DEFAULT_POOL_MAX`. */
  readonly poolMax?: number | undefined;
}

/** The server's certificate is verified, with its name. */
export interface PostgresTls {
  /** Authorities to trust instead of the system's. */
  readonly caFile?: string | undefined;
  /** The client's certificate and key. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

export const DEFAULT_POOL_MAX = 10;
