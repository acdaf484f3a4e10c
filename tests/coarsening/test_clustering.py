import numba
from threadpoolctl import threadpool_info

from ansgt.coarsening.clustering import steady_threads, worker_threads


def test_threads_are_limited_inside_and_restored_after():
    before = numba.get_num_threads()
    with steady_threads(10):
        assert numba.get_num_threads() == 1
        assert all(pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas")
        with worker_threads(10**9):
            assert numba.get_num_threads() == before
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before
