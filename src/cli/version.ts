/** The version of leasehold. A test compares it with package.json, which a bundled command line cannot read. */
export const VERSION = '0.2.0';
