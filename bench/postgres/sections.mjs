/** The sections of the postgres suite, in order. */
export const SECTIONS = ['lifecycles', 'peers', 'replay', 'compaction'];

export const PLAIN_SECTIONS = [];
