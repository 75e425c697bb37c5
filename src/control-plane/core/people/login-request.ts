import { ROLES, type Role } from "./roles.ts";

/** How long a program may wait for a person to confirm its log-in, in seconds. */
export const LOGIN_REQUEST_S = 600;
/** How often a program may ask for its key, in seconds. */
export const LOGIN_POLL_S = 5;

/** A program that wants to log in, and what a person decided. Its codes are not stored. Times are Unix seconds. */
export interface LoginRequest {
  /** How the program calls itself: not verified. */
  readonly clientName: string;
  readonly source: string | undefined;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly state: "pending" | "approved" | "denied";
}

/** Returns the roles that a person with this role may give, lowest first. */
export function rolesUpTo(role: Role): readonly Role[] {
  return ROLES.slice(0, ROLES.indexOf(role) + 1);
}

/** Returns the lower of two roles. */
export function lowerRole(one: Role, other: Role): Role {
  return ROLES.indexOf(one) < ROLES.indexOf(other) ? one : other;
}
