/**
 * What a caller requires of a record before it changes it: throws if the record is not as expected. Stores call it in the
 * transaction of the change, with the record locked, and undo the transaction if it throws. It may be called again when the
 * transaction is repeated.
 */
export type Precondition<T> = (current: T) => void;
